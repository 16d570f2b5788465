#ifndef LARDER_TERMINAL_H
#define LARDER_TERMINAL_H

/// Puts the terminal on `descriptor` into raw mode and onto the alternate screen, and sees to it that it is put back
/// when the process exits, is ended by SIGINT, SIGTERM or SIGHUP, or crashes. Returns 0, or an errno value.
int larder_terminal_enter(int descriptor);

/// Puts the terminal back. Harmless where it was not entered, and more than once. Async-signal-safe.
void larder_terminal_leave(void);

struct larder_terminal_size {
    int columns;
    int rows;
    /// Pixels of the whole window; 0 where the terminal does not say.
    int width;
    int height;
};

/// Asks for the size of the terminal on `descriptor`. Returns 0, or an errno value.
int larder_terminal_measure(int descriptor, struct larder_terminal_size *size);

#endif
