// SPDX-License-Identifier: Apache-2.0
/**
 * The catalogue of all topics, and the partitioner for clients. The package depends on the Kafka
 * clients.
 */
@NullMarked
package io.weir.topics.catalog;

import org.jspecify.annotations.NullMarked;
