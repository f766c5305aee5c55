// May root trust what lies at a path? The question that sshd asks of a user's files.
#pragma once

#include <string>

#include "core/result.h"

namespace sharewell::platform {

// Fails where anybody but root owns or may write `path`, or a folder on the way to it, symbolic
// links followed. A folder of root's with the sticky bit (/tmp) may be on the way, but not at the
// end: nobody renames there what is root's. What does not exist is passed over: make it, and ask
// again. The message names the folder and the reason.
core::Result<void> OnlyRootMayChange(const std::string& path);

}  // namespace sharewell::platform
