/* The program's entry: the SDK starts an application, which is what is called `main` elsewhere (MATCH_MAIN). */
#include <pmsis.h>

int match_application(int argc, char **argv);

static void run(void)
{
    pmsis_exit(match_application(0, NULL));
}

int main(void)
{
    return pmsis_kickoff((void *)run);
}
