// SPDX-License-Identifier: Apache-2.0
/**
 * Supervised threads, exponential back-off, a limit on repeated log lines, a stack of open
 * resources, and a semaphore that is fair among clients. The package depends only on the logging
 * API.
 */
@NullMarked
package io.weir.topics.process;

import org.jspecify.annotations.NullMarked;
