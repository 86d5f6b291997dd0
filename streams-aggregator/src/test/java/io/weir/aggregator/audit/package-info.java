// SPDX-License-Identifier: Apache-2.0
/** Tests of the audit; most run a whole partition, since a correction depends on its watermark. */
@NullMarked
package io.weir.aggregator.audit;

import org.jspecify.annotations.NullMarked;
