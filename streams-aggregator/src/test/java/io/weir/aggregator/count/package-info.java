// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.weir.aggregator.count;

import org.jspecify.annotations.NullMarked;
