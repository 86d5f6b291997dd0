// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the calls and compares the result with the ledger, the state topic and the quarantine.
 * Its rules for reading and judging calls are written from {@code docs/topics}. With the aggregator
 * it shares only the model and the codecs of the aggregator's output, so that no error can be in
 * both.
 *
 * <p>For the same reason the package has its own code to consume topics, decode batch headers,
 * split batches into lines and read calls. {@code io.weir.topics} has that code for all other
 * modules. An error there that skips calls would otherwise be in both the ledger and its proof.
 */
@NullMarked
package io.weir.cli.verify;

import org.jspecify.annotations.NullMarked;
