// CV32E40P with ideal memories: every request is granted at once and answered a cycle later.
//
//   core IMAGE                  runs kernel calls: firmware at the boot address of one memory of 4 MB, a request each on stdin
//   core ELF INPUTS OUTPUTS     runs a program to its end; its status is this one's, and what it prints goes to stdout
//
// Both are in requests.h and program.h.
#include <cstdio>
#include <exception>

#include "program.h"
#include "requests.h"

int main(int argc, char **argv)
{
    try {
        if (argc == 2) return serve(argv[1]);
        if (argc == 4) return run_program(argv[1], argv[2], argv[3]);
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "error: %s\n", error.what());
        return 125;
    }
    std::fprintf(stderr, "usage: core IMAGE | core ELF INPUTS OUTPUTS\n");
    return 2;
}
