// SPDX-License-Identifier: Apache-2.0
/**
 * Shared parts of long-lived processes: threads that restart after a failure, the pauses between,
 * and fair turns. The package depends only on the logging API.
 */
@NullMarked
package io.weir.topics.process;

import org.jspecify.annotations.NullMarked;
