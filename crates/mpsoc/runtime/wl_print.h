// Text output to the simulator's standard output.
#pragma once

#include <stdarg.h>

#include "wl_platform.h"

// The words of a call: up to 64 characters, which are printed together.
struct wl_line {
    uint32_t words[16];
    unsigned count;
};

static void wl_line_end(struct wl_line *line) {
    if (line->count == 0) return;
    unsigned last = (line->count - 1) / 4;
    for (unsigned k = 0; k < last; k++) WL_ARGUMENT_WORDS[k] = line->words[k];
    wl_call(WL_CONSOLE, line->count, WL_ONE_WAY, line->words[last]);
    line->count = 0;
}

static void wl_line_put(struct wl_line *line, char character) {
    unsigned word = line->count / 4, shift = line->count % 4 * 8;
    line->words[word] = (shift ? line->words[word] : 0) | (uint32_t)(uint8_t)character << shift;
    if (++line->count == 64) wl_line_end(line);
}

static void wl_line_number(struct wl_line *line, uint32_t value, uint32_t base) {
    char digits[10];
    unsigned count = 0;
    do digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count > 0) wl_line_put(line, digits[--count]);
}

// Prints like printf, with %u, %d, %x (all of 32 bits), %c, %s and %%. Up to 64 characters are
// printed in one piece.
__attribute__((unused)) static void wl_printf(const char *format, ...) {
    struct wl_line line = {.count = 0};
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            wl_line_put(&line, *format);
            continue;
        }
        switch (*++format) {
        case 'd': {
            int32_t value = va_arg(arguments, int);
            if (value < 0) wl_line_put(&line, '-');
            wl_line_number(&line, value < 0 ? -(uint32_t)value : (uint32_t)value, 10);
            break;
        }
        case 'u': wl_line_number(&line, va_arg(arguments, unsigned), 10); break;
        case 'x': wl_line_number(&line, va_arg(arguments, unsigned), 16); break;
        case 'c': wl_line_put(&line, (char)va_arg(arguments, int)); break;
        case 's':
            for (const char *text = va_arg(arguments, const char *); *text; text++) wl_line_put(&line, *text);
            break;
        case '\0': format--; break;
        default: wl_line_put(&line, *format);
        }
    }
    va_end(arguments);
    wl_line_end(&line);
}
