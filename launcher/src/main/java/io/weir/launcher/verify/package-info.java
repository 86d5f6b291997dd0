// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the audit topic in one plain loop and compares with the ledger. Shares nothing with the
 * aggregator but the wire codecs and the model, so that one mistake is not made twice.
 */
@NullMarked
package io.weir.launcher.verify;

import org.jspecify.annotations.NullMarked;
