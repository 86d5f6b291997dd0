// SPDX-License-Identifier: Apache-2.0
/**
 * Immutable types whose values processes exchange through Kafka. The package depends on the limits,
 * the JDK and the nullness annotations.
 */
@NullMarked
package io.weir.topics.model;

import org.jspecify.annotations.NullMarked;
