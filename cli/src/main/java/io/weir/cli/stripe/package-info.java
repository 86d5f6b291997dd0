// SPDX-License-Identifier: Apache-2.0
/**
 * Sends the ledger to Stripe as meter events, each once. {@code Mapping} and {@code RowJudge}
 * decide what a row becomes, {@code StripeApi} sends it, {@code ExportState} and {@code KeptRows}
 * remember on disk what has become of it. May depend on the topics and on {@code
 * verify.TopicReader}.
 */
@NullMarked
package io.weir.cli.stripe;

import org.jspecify.annotations.NullMarked;
