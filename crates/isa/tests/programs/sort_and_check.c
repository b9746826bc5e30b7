/* What a compiler makes of loops, calls through pointers, switches, division and numbers of 64 bits. Ends with service 1. */
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned char u8;

#if defined(__arm__)
__asm__(".text\n.globl _start\n_start:\n bl main\n swi 1\n");
#else
/* The linker makes addresses relative to gp, which so must be set, by instructions that it leaves alone. */
__asm__(".text\n.globl _start\n_start:\n.option push\n.option norelax\n la gp, __global_pointer$\n.option pop\n"
        " call main\n li a7, 1\n ecall\n");
#endif

u32 words[64];
const u8 text[] = "123456789";
short half = -300;
signed char byte = -3;
volatile u32 divisor = 13;

/* What the test looks at: CRC-32 of the text; 1 if the words are sorted; quotient, remainder, a signed quotient; a quotient
   of 64 bits; what a call through a pointer gives; loads with signs. */
u32 results[8];

static u32 crc(const u8 *bytes, u32 count) {
    u32 sum = ~0u;
    while (count--) {
        sum ^= *bytes++;
        for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
    }
    return ~sum;
}

__attribute__((noinline)) static void sort(u32 *values, u32 count) {
    for (u32 i = 1; i < count; i++) {
        u32 value = values[i], j = i;
        for (; j && values[j - 1] > value; j--) values[j] = values[j - 1];
        values[j] = value;
    }
}

static int pick(int x) {
    switch (x) {
    case 0: return 5;
    case 1: return 17;
    case 2: return -3;
    case 3: return 99;
    case 4: return 2;
    case 5: return 44;
    default: return 0;
    }
}

int (*volatile function)(int) = pick;

int main(void) {
    u32 state = 1;
    for (int i = 0; i < 64; i++) words[i] = state = state * 1664525u + 1013904223u;
    sort(words, 64);
    u32 sorted = 1;
    for (int i = 1; i < 64; i++) sorted &= words[i - 1] <= words[i];
    results[0] = crc(text, 9);
    results[1] = sorted;
    results[2] = 1000007u / divisor;
    results[3] = 1000007u % divisor;
    results[4] = (u32)(-1000007 / (int)divisor);
    results[5] = (u32)(0x123456789abcdefull / (u64)divisor);
    results[6] = (u32)function(3);
    results[7] = (u32)(half * 2 + byte);
    return (int)results[0];
}
