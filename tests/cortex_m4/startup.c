/* The least that a Cortex-M4 needs to run main: vectors, memory, FPU, a way to print and to stop.
 *
 * Printing and stopping are ARM semihosting calls, which qemu (or a debugger) answers. Nothing is
 * taken from a C library: memcpy and memset are here. At the end it says how much RAM was used. */
#include <stddef.h>
#include <stdint.h>

/* from cortex_m4.ld */
extern uint32_t ram_begin[], data_end[], data_load[], bss_begin[], bss_end[], stack_top[];

int main(void);
void device_write(const char *text);
void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);
void reset(void);
void fault(void);

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18 };
#define APPLICATION_EXIT ((void *)0x20026)
#define RUN_TIME_ERROR ((void *)0x20023)
#define PAINT 0xA5A5A5A5u

static void semihosting(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}

void device_write(const char *text) { semihosting(SYS_WRITE0, text); }

void *memcpy(void *to, const void *from, size_t bytes)
{
    unsigned char *a = (unsigned char *)to;
    const unsigned char *b = (const unsigned char *)from;
    while (bytes-- > 0)
        *a++ = *b++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    unsigned char *a = (unsigned char *)to;
    while (bytes-- > 0)
        *a++ = (unsigned char)value;
    return to;
}

static void write_count(const char *name, uintptr_t count)
{
    char text[12], *end = text + sizeof text - 1;
    *end = '\0';
    do
        *--end = (char)('0' + count % 10);
    while ((count /= 10) > 0);
    device_write(name);
    device_write(end);
    device_write("\n");
}

/* Runs main on a painted stack, so that the paint left over tells how deep it went. */
void reset(void)
{
    uint32_t *word, *here = (uint32_t *)__builtin_frame_address(0) - 32;
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: switch the FPU on */
    __asm__ volatile("dsb\n\tisb" ::: "memory");
    for (word = ram_begin; word < data_end; word++)
        *word = data_load[word - ram_begin];
    for (word = bss_begin; word < bss_end; word++)
        *word = 0;
    for (word = bss_end; word < here; word++)
        *(volatile uint32_t *)word = PAINT;
    int status = main();
    for (word = bss_end; word < stack_top && *word == PAINT; word++)
        ;
    write_count("ram.static ", (uintptr_t)bss_end - (uintptr_t)ram_begin);
    write_count("ram.stack ", (uintptr_t)stack_top - (uintptr_t)word);
    semihosting(SYS_EXIT, status == 0 ? APPLICATION_EXIT : RUN_TIME_ERROR);
    for (;;)
        ;
}

void fault(void)
{
    device_write("fault\n");
    semihosting(SYS_EXIT, RUN_TIME_ERROR);
    for (;;)
        ;
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    vector handlers[15];
} vectors = { stack_top, { reset, fault, fault, fault, fault, fault, NULL, NULL, NULL, NULL, fault,
                           fault, NULL, fault, fault } };
