// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

/** A call whose admission is requested: of a client that is named, or of one with an API key. */
public sealed interface CallRequest permits Call, KeyedCall {}
