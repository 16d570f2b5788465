#ifndef LARDER_CPLATFORM_H
#define LARDER_CPLATFORM_H

#include "larder_files.h"
#include "larder_processor.h"
#include "larder_spawn.h"
#include "larder_terminal.h"

#endif
