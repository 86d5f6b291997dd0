// SPDX-License-Identifier: Apache-2.0
/**
 * Reads and writes batches of calls, which are the values of records of {@code weir.calls.v1}. The
 * published schema is {@code io/weir/topics/schema/weir-calls.proto}. Depends on the model, on one
 * exception of the package {@code wire} and on the encoder and decoder of Protocol Buffers, but not
 * on generated classes.
 */
@NullMarked
package io.weir.topics.calls;

import org.jspecify.annotations.NullMarked;
