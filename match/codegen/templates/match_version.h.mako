<% major, minor, patch = shared.numbers %>\
/* Which C this is that networks share: by which version of MATCH, for which target. */
#ifndef MATCH_VERSION_H
#define MATCH_VERSION_H

#define MATCH_VERSION ${quoted(shared.version)}
#define MATCH_VERSION_NUMBER ${f"{major}{minor:03}{patch:03}".lstrip("0") or 0} /* major * 1000000 + minor * 1000 + patch */
#define MATCH_TARGET ${quoted(shared.target)}

/* Of the content of all of it. Networks name the constant and compare the number, so that they are neither compiled nor
 * linked with that of another version or target, whose kernels may read constants in another form. */
#define MATCH_SHARED_C 0x${shared.digits}

#ifdef __cplusplus
extern "C" {
#endif

extern const char ${shared.symbol}[];

#ifdef __cplusplus
}
#endif

#endif
