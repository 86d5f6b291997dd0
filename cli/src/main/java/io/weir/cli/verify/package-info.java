// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the calls and compares the result with the ledger, the state topic and the quarantine.
 * The rules for judging calls are written from {@code docs/topics}, like the rules of {@code
 * records} for reading calls. This package and the aggregator share only the model and the codecs
 * of the aggregator's output, so that no error in counting can be in both.
 */
@NullMarked
package io.weir.cli.verify;

import org.jspecify.annotations.NullMarked;
