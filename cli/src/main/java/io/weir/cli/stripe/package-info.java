// SPDX-License-Identifier: Apache-2.0
/**
 * Sends the ledger to Stripe as meter events, each once. {@code Mapping} and {@code RowJudge}
 * decide whether a row is sent, {@code StripeApi} sends it, and {@code ExportState} and {@code
 * KeptRows} record the results on disk. May depend on the topics, on {@code console} and on {@code
 * records}.
 */
@NullMarked
package io.weir.cli.stripe;

import org.jspecify.annotations.NullMarked;
