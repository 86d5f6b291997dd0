// SPDX-License-Identifier: Apache-2.0
/** The metrics of the libraries that every process uses. Depends on Micrometer alone. */
@NullMarked
package io.weir.topics.metrics;

import org.jspecify.annotations.NullMarked;
