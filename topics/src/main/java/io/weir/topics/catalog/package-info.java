// SPDX-License-Identifier: Apache-2.0
/** The one list of all topics and the partitioner they share; depends on the Kafka clients. */
@NullMarked
package io.weir.topics.catalog;

import org.jspecify.annotations.NullMarked;
