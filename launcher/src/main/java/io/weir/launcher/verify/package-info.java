// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the calls and compares with the ledger, the state topic and the quarantine. Reads and
 * judges the calls by rules of its own, written from {@code docs/reference.md}, and shares nothing
 * with the aggregator but the model and the codecs of what the aggregator writes, so that one
 * mistake is not made twice.
 */
@NullMarked
package io.weir.launcher.verify;

import org.jspecify.annotations.NullMarked;
