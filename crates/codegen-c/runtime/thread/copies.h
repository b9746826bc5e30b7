/* Functions that compilers call for copies and comparisons of structures. */
#ifndef WL_COPIES_H
#define WL_COPIES_H

__attribute__((used)) void *memcpy(void *to, const void *from, size_t count)
{
    uint8_t *t = to;
    const uint8_t *f = from;
    for (size_t i = 0; i < count; i++)
        t[i] = f[i];
    return to;
}

__attribute__((used)) void *memset(void *to, int value, size_t count)
{
    uint8_t *t = to;
    for (size_t i = 0; i < count; i++)
        t[i] = (uint8_t)value;
    return to;
}

#endif
