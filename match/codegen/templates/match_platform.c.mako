/* The chip's modules, for all networks of a program. */
#include "match_runtime.h"
#include "match_version.h"
% for header in target.api.headers:
#include "${header}"
% endfor

const char ${shared.symbol}[] = MATCH_VERSION;

int32_t match_platform_open(void)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    const int32_t status = ${target.api.open}();
    match_give_turn();
    return status;
}

int32_t match_platform_close(void)
{
    if (!match_take_turn()) {
        return MATCH_ERROR_BUSY;
    }
    ${target.api.close}();
    match_give_turn();
    return MATCH_OK;
}
