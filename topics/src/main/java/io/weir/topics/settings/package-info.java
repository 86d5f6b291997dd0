// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the environment variables of a process. Every error names the variable. The package depends
 * only on the JDK.
 */
@NullMarked
package io.weir.topics.settings;

import org.jspecify.annotations.NullMarked;
