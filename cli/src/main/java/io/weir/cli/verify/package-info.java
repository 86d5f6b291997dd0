// SPDX-License-Identifier: Apache-2.0
/**
 * Recounts the calls and compares the result with the ledger, the state topic and the quarantine.
 * Its rules for judging calls are written from {@code docs/topics}, as those of {@code records} for
 * reading them. With the aggregator it shares only the model and the codecs of the aggregator's
 * output, so that no error can be in both.
 */
@NullMarked
package io.weir.cli.verify;

import org.jspecify.annotations.NullMarked;
