// SPDX-License-Identifier: Apache-2.0
/**
 * Immutable records that cross a process boundary. The package depends on the JDK and the nullness
 * annotations.
 */
@NullMarked
package io.weir.topics.model;

import org.jspecify.annotations.NullMarked;
