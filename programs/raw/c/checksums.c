/* Checksums of random packets, on a tile: C that any compiler takes. docs/machines/raw.md says how it
   is compiled. The memory at 64 KB gets the packets' bytes, the sums follow them. */

#define PACKETS 16
#define WORDS 16

static unsigned seed = 1;

static unsigned random_word(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed;
}

static unsigned checksum(const unsigned char *bytes, unsigned length)
{
    unsigned sum = 0;
    for (unsigned i = 0; i + 1 < length; i += 2)
        sum += (unsigned)bytes[i] << 8 | bytes[i + 1];
    if (length & 1)
        sum += (unsigned)bytes[length - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

int main(void)
{
    unsigned *packets = (unsigned *)0x10000;
    unsigned *sums = packets + PACKETS * WORDS;
    for (unsigned i = 0; i < PACKETS * WORDS; i++)
        packets[i] = random_word();
    for (unsigned p = 0; p < PACKETS; p++) {
        unsigned length = 20 + random_word() % 45;
        sums[p] = checksum((const unsigned char *)(packets + p * WORDS), length);
        sums[PACKETS + p] = random_word() / (sums[p] | 1);
    }
    for (unsigned at = 0; at < (PACKETS * WORDS + 2 * PACKETS) * 4; at += 32)
        __asm__ volatile("cache 0, 0(%0)" : : "r"(0x10000 + at) : "memory");
    return 0;
}
