#include "outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pdm_status cli_outfile_check(cli_report *report, const char *path, bool overwrite)
{
    struct stat info;

    if (overwrite || lstat(path, &info) != 0)
        return PDM_OK;
    cli_usage(report, "--force overwrites", "%s exists", path);
    return PDM_EXISTS;
}

static bool print_to(int fd, void (*print)(FILE *out, const void *what), const void *what)
{
    FILE *file = fdopen(fd, "w");
    const mode_t mask = umask(0);

    umask(mask);
    if (!file) {
        close(fd);
        return false;
    }
    print(file, what);
    bool good =
        fflush(file) == 0 && !ferror(file) && fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0;
    if (fclose(file) != 0)
        good = false;
    return good;
}

pdm_status cli_outfile_write(cli_report *report, const char *path, bool overwrite,
                             void (*print)(FILE *out, const void *what), const void *what)
{
    const size_t size = strlen(path) + sizeof ".XXXXXX";
    char *temporary = malloc(size);

    if (!temporary)
        return PDM_NOMEM;
    snprintf(temporary, size, "%s.XXXXXX", path);
    const int fd = mkstemp(temporary);
    bool good = fd >= 0 && print_to(fd, print, what);
    if (good && overwrite)
        good = rename(temporary, path) == 0;
    else if (good) /* a rename would replace what has come there since */
        good = link(temporary, path) == 0;
    const int why = errno;
    if (fd >= 0 && !(good && overwrite))
        unlink(temporary);
    free(temporary);
    if (!good)
        cli_usage(report, NULL, "%s cannot be written: %s", path, strerror(why));
    return good ? PDM_OK : PDM_IO;
}
