// SPDX-License-Identifier: Apache-2.0
/** How every client of Weir reaches Kafka: where it is, and by what the operator secures it. */
@NullMarked
package io.weir.topics.kafka;

import org.jspecify.annotations.NullMarked;
