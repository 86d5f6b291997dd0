// SPDX-License-Identifier: Apache-2.0
@NullMarked
package io.weir.aggregator.ranking;

import org.jspecify.annotations.NullMarked;
