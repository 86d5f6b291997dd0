// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the calls and compares the result with the ledger, the state topic and the quarantine.
 * It reads and judges the calls by rules of its own, written from {@code docs/topics}, and shares
 * nothing with the aggregator except the model and the codecs of what the aggregator writes, so
 * that a mistake is not made twice.
 *
 * <p>This is why the package consumes topics, decodes the headers of batches, divides them into
 * lines and reads calls with code of its own, although {@code io.weir.topics} has all of that for
 * everybody else: an error there, by which calls were passed over, would otherwise be in the ledger
 * and in its proof alike.
 */
@NullMarked
package io.weir.cli.verify;

import org.jspecify.annotations.NullMarked;
