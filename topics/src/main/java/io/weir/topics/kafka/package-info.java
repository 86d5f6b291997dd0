// SPDX-License-Identifier: Apache-2.0
/**
 * The connection of Weir's clients to Kafka: its addresses, and the operator's properties, for
 * instance for security.
 */
@NullMarked
package io.weir.topics.kafka;

import org.jspecify.annotations.NullMarked;
