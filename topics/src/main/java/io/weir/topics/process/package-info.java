// SPDX-License-Identifier: Apache-2.0
/**
 * What the long-lived parts of every process share: threads that start again after a failure, the
 * pauses between, and turns that callers take in rotation. Depends on the logging API alone.
 */
@NullMarked
package io.weir.topics.process;

import org.jspecify.annotations.NullMarked;
