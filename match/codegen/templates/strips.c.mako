<%
    strips, api = text.strips, text.api
    rows, count = strips.rows, strips.count
%>\
/* Its output is in external memory: it is made strip by strip, while the strip before leaves. */
static int32_t ${text.function}(${", ".join(text.parameters)})
{
    uint8_t *const strips[2] = {current->workspace + ${text.offset}, current->workspace + ${text.offset + strips.distance}};
    ${api.transfer} transfers[2] = {0};
    int32_t turn = 0;
    for (int32_t first = 0; first < ${count}; first += ${rows}) {
        const int32_t end = match_min(first + ${rows}, ${count});
        const match_copy_t shape = {.planes = 1, .rows = 1, .bytes = (uint32_t)(end - first) * ${strips.bytes}};
% if count > 2 * rows:
        if (first >= ${2 * rows}) {
            MATCH_TRY(${api.wait}(&transfers[turn]));
        }
% endif
        MATCH_TRY(${text.function}_strip(${text.arguments}, first, end));
        ${api.copy_out}(&transfers[turn], strips[turn], (uint8_t *)${text.written} + first * ${strips.bytes}, &shape);
        turn = 1 - turn;
    }
% if text.rest > 1:
    MATCH_TRY(${api.wait}(&transfers[turn]));
% endif
    return ${api.wait}(&transfers[1 - turn]);
}
