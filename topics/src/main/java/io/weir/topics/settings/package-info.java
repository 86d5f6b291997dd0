// SPDX-License-Identifier: Apache-2.0
/** Reads the environment variables of a process, such that every error names the variable. Pure. */
@NullMarked
package io.weir.topics.settings;

import org.jspecify.annotations.NullMarked;
