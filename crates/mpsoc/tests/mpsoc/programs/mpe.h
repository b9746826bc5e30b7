/* The message passing engine and the local store, as defined in crates/mpsoc/src/mpe.rs. */
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;

#define WORD(address) (*(volatile u32 *)(address))
#define RECEIVE WORD(0x20000000)
#define EGRESS WORD(0x20000004)
#define WINDOW_FRONT WORD(0x20000008)
#define WINDOW_END WORD(0x2000000c)
#define LENGTH WORD(0x20000010)
#define SEND WORD(0x20000014)
#define WAIT(ticket) WORD(0x20000100 + 4 * (ticket))
#define CALL(object, method, ticket) WORD(0x80000000u | (object) << 24 | (method) << 8 | (ticket) << 4)
#define SHARED(index) WORD(0x30000000 + 4 * (index))

/* Bytes of the arrived packet, in network order: byte k of the area lies at k ^ 3. */
#define BYTE(at) (*(volatile u8 *)(0x10000000 + ((0x102 + (at)) ^ 3)))
#define INFORMATION(index) WORD(0x10000480 + 4 * (index))
#define ARGUMENT(index) WORD(0x100004b0 + 4 * (index))
#define REPLY(ticket, index) WORD(0x10000540 + 32 * (ticket) + 4 * (index))

enum { FINISH, DROP, TO_CPU, DONE, RUNAWAY, EMIT };

#if defined(__arm__)
__asm__(".text\n.globl _start\n_start:\n b main\n");
#else
__asm__(".text\n.globl _start\n_start:\n j main\n");
#endif
