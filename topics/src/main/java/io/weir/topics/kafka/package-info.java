// SPDX-License-Identifier: Apache-2.0
/**
 * The connection to Kafka: its addresses, and the client properties that the operator sets, for
 * example for security.
 */
@NullMarked
package io.weir.topics.kafka;

import org.jspecify.annotations.NullMarked;
