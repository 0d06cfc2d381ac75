/* The image of ${target.external.memory.name} for ${comment(network.name)}: the file ${image}. */
#include <stddef.h>

#include "match_image.h"

/* Platforms without files have it in the program. */
#ifdef MATCH_IMAGE_LINKED
extern const uint8_t ${name}_image_data[];
__asm__(".pushsection .rodata\n"
        ".balign 4\n"
        ".globl ${name}_image_data\n"
        "${name}_image_data:\n"
        ".incbin \"${image}\"\n"
        ".popsection\n");
#define DATA ${name}_image_data
#else
#define DATA NULL
#endif

extern const match_image_t ${name}_image;
const match_image_t ${name}_image = {.file = "${image}", .bytes = ${network.memory.plan.image}, .data = DATA};
