<%
    shared = level.shared
    memory = level.memory.name
    output = level.output
    blocks = f"{shared}_block_t *"
    given = "const part_t *part" if level.part else "const arguments_t *arguments"
%>\
% for operand in level.fetched:
<% array = level.array(operand) %>\

% if operand.constant:
/* Starts the transfer of some of the constants to where they are read. */
static void fetch_${operand.name}(${blocks}block, uint8_t *to${level.array_parameter(operand)}, uint32_t start, uint32_t bytes)
{
    block->data = to;
    MATCH_TRACE_FETCH(block, "${operand.name}", "${memory}", start, bytes);
    ${shared}_load(block, ${array} + start, bytes);
}
% else:
/* Starts the transfer of the ${operand.name} to where it is read. */
static void fetch_${operand.name}(${blocks}block, uint8_t *to${level.array_parameter(operand)})
{
    const uint32_t bytes = ${level.bytes(operand)};
    block->data = to;
    MATCH_TRACE_FETCH(block, "${operand.name}", "${memory}", 0, bytes);
    ${shared}_load(block, ${array}, bytes);
}
% endif
% endfor

/* Starts the write-back of the output. */
static void store_output(${blocks}block, uint8_t *from${level.array_parameter(output)})
{
    const uint32_t bytes = ${level.bytes(output)};
    block->data = from;
    MATCH_TRACE_STORE(block, "output", "${memory}", 0, bytes);
    ${shared}_store(block, ${level.array(output)}, bytes);
}

/* The operators, in their order. Everything lies where it was planned, from l1 on. Transfers${" and kernel calls" if level.stopping else ""} may be under way
 * behind it. */
static int32_t compute_all(${given}, uint8_t *l1, ${blocks}transfers)
{
    match_tile_t tiles[${level.tiles}]; /* fields that are not set stay as they are for the call before */
% for fetch in level.first_fetches:
    ${level.fetch(fetch)}
% endfor
% for call in level.member_calls:
<% member = call.member %>\

    ${member.title}
% if member.number:
% for fetch in member.starting:
    ${level.fetch(fetch)}
% endfor
% endif
% if call.clears:
    ${shared}_clear(&tiles[${call.tile}]);
% endif
% for field, value in call.fields:
    tiles[${call.tile}].${field} = ${value};
% endfor
% for fetch in member.awaited:
    MATCH_TRY(${shared}_wait(&${level.slot(fetch)}));
% endfor
% for other in call.ending:
    MATCH_TRY(${other.shared}_end(${other.number}));
% endfor
    MATCH_TRY(${member.shared}_${"compute" if member.at_once else "start"}(${member.operator.kernel}, &tiles[${call.tile}]));
% endfor

% for other in level.last_ending:
    MATCH_TRY(${other.shared}_end(${other.number}));
% endfor
    store_output(&transfers[0], ${level.output_place}${level.array_argument(output)});
    return MATCH_OK;
}

% if level.part:
/* The part of the layer whose blocks are in ${level.outer_memory}: all of it. */
static int32_t execute_part(const part_t *part, ${blocks}reserved)
% else:
/* The layer, once its block is reserved; nothing is under way behind it, even if it fails. */
static int32_t execute(const void *given, ${blocks}reserved)
% endif
{
    ${shared}_block_t transfers[${level.transfers}];
    ${shared}_idle(transfers, ${level.transfers});
    int32_t status = compute_all(${"part" if level.part else "given"}, reserved->data, transfers);
% for stopped in level.stopping:
    status = ${stopped}_stop(status);
% endfor
    return ${shared}_settle(transfers, ${level.transfers}, status);
}
