/** The kind of thing that is dragged when one card is moved onto another; its text is the card's id. */
export const DRAGGED = 'application/x-tracklight-card';
