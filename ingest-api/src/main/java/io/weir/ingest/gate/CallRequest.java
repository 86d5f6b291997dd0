// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/** A request to decide a call; it names the client or carries an API key. */
public sealed interface CallRequest permits Call, KeyedCall {}
