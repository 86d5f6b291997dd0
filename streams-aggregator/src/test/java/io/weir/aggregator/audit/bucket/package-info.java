// SPDX-License-Identifier: Apache-2.0
/** Tests of the audit of one bucket. */
@NullMarked
package io.weir.aggregator.audit.bucket;

import org.jspecify.annotations.NullMarked;
