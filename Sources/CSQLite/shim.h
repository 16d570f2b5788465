#include <sqlite3.h>

// What Swift cannot call: a variadic function and a destructor that is a cast number.

/// SQLITE_DBCONFIG_DEFENSIVE on, SQLITE_DBCONFIG_TRUSTED_SCHEMA off.
static inline int larder_sqlite_defend(sqlite3 *database) {
    int defensive = sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)0);
    int schema = sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)0);
    return defensive != SQLITE_OK ? defensive : schema;
}

/// sqlite3_bind_text with a copy of the bytes.
static inline int larder_sqlite_bind_text(sqlite3_stmt *statement, int index, const char *text, int count) {
    return sqlite3_bind_text(statement, index, text, count, SQLITE_TRANSIENT);
}
