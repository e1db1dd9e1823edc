/* A private copy of everything of which nothing is used: no warning even then. */
#define NPKSD_STATIC
#define NPKSD_IMPLEMENTATION
#include "npksd.h"

int main(void) { return 0; }
