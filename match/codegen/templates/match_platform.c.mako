/* The chip's modules, for all networks of a program. */
#include "match_network.h"
#include "match_version.h"
% for header in target.api.headers:
#include "${header}"
% endfor

const char ${shared.symbol}[] = MATCH_VERSION;

int32_t match_platform_open(void)
{
    return ${target.api.open}();
}

void match_platform_close(void)
{
    ${target.api.close}();
}
