// Runs ${name} once in a second and prints what each operator takes: `match measure` reads the log.
#include <${name}.h>
#include <match_count.h>

static ${name}_context_t context;
static uint64_t started;

static int32_t begin(void *user, uint32_t number)
{
    (void)user;
    (void)number;
    started = match_counter();
    return MATCH_OK;
}

static void end(void *user, uint32_t number, int32_t status)
{
    const uint32_t count = (uint32_t)(match_counter() - started);
    (void)user;
    (void)status;
    Serial.print("{\"event\":\"count\",\"call\":");
    Serial.print(number);
    Serial.print(",\"count\":");
    Serial.print(count);
    Serial.println("}");
}

static const match_hooks_t hooks = {begin, end, nullptr};

void setup()
{
    Serial.begin(115200);
    int32_t status = match_platform_open();
    status = status ? status : ${name}_init(&context, ${name}_workspace, ${prefix}_WORKSPACE_IO_BYTES);
    status = status ? status : ${name}_set_hooks(&context, &hooks);
    Serial.println(match_status_text(status));
}

void loop()
{
    // The inputs are at ${name}_input_...(&context), see ${name}.h.
    const int32_t status = ${name}_run(&context, nullptr, nullptr);
    if (status != MATCH_OK) {
        Serial.println(match_status_text(status));
    }
    delay(1000);
}
