// SPDX-License-Identifier: Apache-2.0
/** Pure records that cross a process boundary; depends on the JDK and the nullness annotations. */
@NullMarked
package io.weir.topics.model;

import org.jspecify.annotations.NullMarked;
