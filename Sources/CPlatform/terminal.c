#include "larder_terminal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved;
static volatile sig_atomic_t terminal = -1;

// Alternate screen, no cursor, no wrapping; and the way back.
static const char enter[] = "\033[?1049h\033[?25l\033[?7l";
static const char leave[] = "\033[?7h\033[?25h\033[?1049l\033[0m";

static void put(int descriptor, const char *text, size_t length) {
    while (length > 0) {
        ssize_t count = write(descriptor, text, length);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        text += count;
        length -= (size_t)count;
    }
}

void larder_terminal_leave(void) {
    int descriptor = terminal;
    if (descriptor < 0) return;
    terminal = -1;
    put(descriptor, leave, sizeof leave - 1);
    tcsetattr(descriptor, TCSAFLUSH, &saved);
}

static void leave_and_die(int number) {
    larder_terminal_leave();
    signal(number, SIG_DFL);
    raise(number);
}

int larder_terminal_enter(int descriptor) {
    static int registered;
    static const int deaths[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
    struct termios raw;
    if (tcgetattr(descriptor, &saved) != 0) return errno;
    raw = saved;
    cfmakeraw(&raw);
    raw.c_oflag |= OPOST | ONLCR;
    if (tcsetattr(descriptor, TCSAFLUSH, &raw) != 0) return errno;
    terminal = descriptor;
    if (!registered) {
        registered = 1;
        atexit(larder_terminal_leave);
        for (unsigned index = 0; index < sizeof deaths / sizeof *deaths; index++) signal(deaths[index], leave_and_die);
    }
    put(descriptor, enter, sizeof enter - 1);
    return 0;
}

int larder_terminal_measure(int descriptor, struct larder_terminal_size *size) {
    struct winsize window;
    if (ioctl(descriptor, TIOCGWINSZ, &window) != 0) return errno;
    size->columns = window.ws_col;
    size->rows = window.ws_row;
    size->width = window.ws_xpixel;
    size->height = window.ws_ypixel;
    return 0;
}
