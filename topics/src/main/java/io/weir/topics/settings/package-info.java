// SPDX-License-Identifier: Apache-2.0
/** Pure: how a process reads its variables, so that every error names the variable. */
@NullMarked
package io.weir.topics.settings;

import org.jspecify.annotations.NullMarked;
