// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the calls and compares the result with the ledger, the state topic and the quarantine.
 * It reads and judges the calls by rules of its own, written from {@code docs/reference.md}, and
 * shares nothing with the aggregator except the model and the codecs of what the aggregator writes,
 * so that a mistake is not made twice.
 */
@NullMarked
package io.weir.launcher.verify;

import org.jspecify.annotations.NullMarked;
